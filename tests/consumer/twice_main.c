/* SPDX-License-Identifier: Apache-2.0 */
int first(void);
int second(void);

int main(void) {
  return first() || second();
}
