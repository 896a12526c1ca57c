// protocol, text: text without control characters, for terminals and approvals. Imports nothing of other folders.

/** Everything that a terminal obeys instead of showing it, and what turns or hides text. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Words that an agent may have chosen, on one line: nothing in them moves the cursor, changes what was printed before, or
 * reads from right to left. What people approve must be what they see.
 *
 * @example
 * printable('rm\u001b[2K'); // 'rm\\u{1b}[2K'
 */
export function printable(text: string): string {
  return text.replaceAll(obeyed, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same for text of several lines: line feeds and tabs stay. */
export function printableLines(text: string): readonly string[] {
  return text.split('\n').map((line) => line.split('\t').map(printable).join('\t'));
}
