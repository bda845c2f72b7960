module example.com/orders/kit/client

go 1.26.0

toolchain go1.26.11
