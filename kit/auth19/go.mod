module example.com/orders/kit/auth19

go 1.26.0

toolchain go1.26.11

ignore node_modules

replace example.com/orders/kit/guard => ../guard

require (
	example.com/orders/kit/guard v0.0.0-00010101000000-000000000000
	go.yaml.in/yaml/v3 v3.0.6
)
