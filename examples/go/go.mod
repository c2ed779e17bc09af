module tilewright.example

go 1.19
