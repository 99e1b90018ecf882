# Text of strangers on a terminal, such as names in a trace. To be sourced.
# shellcheck shell=sh

# shown: standard input without the characters that a terminal takes for commands, each of which becomes "?"; lines and tabs stay
shown() {
    LC_ALL=C tr '\000-\010\013-\037\177' '[?*]' | LC_ALL=C sed "s/$(printf '\302[\200-\237]')/?/g; s/$(printf '\342\200[\252-\256]')/?/g; s/$(printf '\342\201[\246-\251]')/?/g"
}
