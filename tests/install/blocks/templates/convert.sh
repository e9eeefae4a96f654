# Files with the names of the page, from the shipped model.
for name in old weights; do cp "$MODELS/darcy_flow.safetensors" $name.safetensors; done
surrogate info old.safetensors --card >card.json
@block@
