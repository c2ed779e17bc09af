/* SPDX-License-Identifier: Apache-2.0 */
int first(void);
int second(void);
#ifdef WITH_CLASSES
int first_classes(void);
int second_classes(void);
#endif

int main(void) {
  if (first() || second()) return 1;
#ifdef WITH_CLASSES
  if (first_classes() || second_classes()) return 1;
#endif
  return 0;
}
