# Text of strangers on a terminal, such as names in a trace. To be sourced.
# shellcheck shell=sh

# The UTF-8 characters that tools/terminal.c escapes, for sed: C1; what turns or joins the direction of a text; separators of lines; the byte
# order mark; tags.
shown_commands=$(printf 's/\302[\200-\237]/?/g; s/\330\234/?/g; s/\342\200[\213-\217\250-\256]/?/g; s/\342\201[\240-\257]/?/g; s/\357\273\277/?/g; s/\363\240[\200\201][\200-\277]/?/g')

# shown: standard input without the characters that a terminal takes for commands, each of which becomes "?"; lines and tabs stay
shown() {
    LC_ALL=C tr '\000-\010\013-\037\177' '[?*]' | LC_ALL=C sed "$shown_commands"
}

# shown_word TEXT: the same of a text in quotes, so that a shell into which it is pasted takes it for one word
shown_word() {
    printf "'%s'" "$(printf %s "$1" | LC_ALL=C sed "s/'/'\\\\''/g")" | shown
}

# shown_errors COMMAND...: runs it, with what it writes to standard error so shown; the status is the command's
shown_errors() {
    { shown_status=$({ { "$@" 3>&- 4>&- || echo $? >&4; } 2>&1 >&3 3>&- | shown >&2; } 4>&1); } 3>&1
    return "${shown_status:-0}"
}
