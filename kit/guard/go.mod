module example.com/orders/kit/guard

go 1.26.0

toolchain go1.26.11

