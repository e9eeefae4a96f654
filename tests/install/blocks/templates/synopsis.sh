# Each line is a command of the program and what it is for: the program has it, and says of what it is called with.
while read -r program verb rest; do
    [ -n "$program" ] || continue
    [ "$program" = surrogate ]
    surrogate help "$verb" | grep -q "surrogate $verb"
    for option in $(echo "$rest" | grep -o -- '--[a-z-]*'); do surrogate help "$verb" | grep -q -- "$option"; done
done <<'END'
@block@
END
