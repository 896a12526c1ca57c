/** A file that a program of the check could not read as its language. */
export interface Unparsed {
  /** As it was printed: absolute, or relative to where the check ran. */
  readonly path: string;
  readonly line: number;
  readonly why: string;
}

/**
 * The parser of Node: place, source with a mark, error, and as its first frame what parses. A missing export is a SyntaxError
 * too, at the file that asks for it, but another file may mend that. In TAP all of it stands in comments.
 */
const node =
  /^(?:# )?(?:file:\/\/)?(\/[^\n]{1,1024}):(\d{1,7})\n(?:[^\n]*\n){0,6}?(?:# )?(SyntaxError\b[^\n]{0,300})\n(?:# )? +at (?:compileSourceTextModule|ModuleLoader\.moduleStrategy|wrapSafe|parseTypeScript|checkSyntax)\b/gm;

/** The last frame of a traceback; pytest puts an `E` before its lines. */
const python =
  /^(?:E )?\s*File "([^"\n]{1,1024})", line (\d{1,7})\n(?:[^\n]*\n){0,3}?(?:E )?\s*((?:Syntax|Indentation|Tab)Error: [^\n]{0,300})$/gm;

/**
 * The files that a check's output says do not parse, in its order.
 *
 * @example
 * unparsed('  File "/workspace/test_a.py", line 3\n    class T(:\n            ^\nSyntaxError: invalid syntax\n');
 * // [{ path: '/workspace/test_a.py', line: 3, why: 'SyntaxError: invalid syntax' }]
 */
export function unparsed(output: string): readonly Unparsed[] {
  const found = [node, python].flatMap((pattern) => [...output.matchAll(pattern)]);
  return found
    .toSorted((a, b) => a.index - b.index)
    .map(([, path = '', line = '', why = '']) => ({ path, line: Number(line), why: why.trim() }));
}
