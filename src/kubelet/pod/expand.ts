// Owns the expansion of $(VAR) in commands, arguments and environment values. Pure.

/** `$(NAME)` becomes its value; `$$` is a literal `$`; an unknown name stays as written. */
export function expand(text: string, value: (name: string) => string | undefined): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (whole: string, name: string | undefined) => {
    if (name === undefined) return '$';
    return value(name) ?? whole;
  });
}
