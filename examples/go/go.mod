// SPDX-License-Identifier: Apache-2.0
module tilewright.example/copythengemm

go 1.19
