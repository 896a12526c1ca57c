/** Parts of a command line: words with their quotes taken off, and the operators between them. */
export interface Lexeme {
  readonly kind: 'Word' | 'Operator';
  readonly text: string;
}

const operators = ['$(', '&&', '||', '>>', '<<', '|', ';', '&', '>', '<', '(', ')', '`', '\n'] as const;

/**
 * Splits a command line roughly as a shell would. It serves features, not a decision: what it reads wrong costs accuracy, gate
 * 1 parses the real grammar. What is substituted inside double quotes is read as a command.
 */
export function lex(line: string): readonly Lexeme[] {
  const found: Lexeme[] = [];
  let word = '';
  let quote = '';
  /** Quotes that a substitution stands in. */
  const outer: string[] = [];
  const end = (): void => {
    if (word !== '') found.push({ kind: 'Word', text: word });
    word = '';
  };
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at] as string;
    if (quote === "'" ? sign !== "'" : sign === '\\') {
      word += quote === "'" ? sign : (line[(at += 1)] ?? '');
    } else if (sign === quote) {
      quote = '';
    } else if (quote === '' && (sign === "'" || sign === '"')) {
      quote = sign;
    } else {
      const operator = operators.find((known) => line.startsWith(known, at));
      if (operator !== undefined && (quote === '' || operator === '$(' || operator === '`')) {
        end();
        found.push({ kind: 'Operator', text: operator });
        at += operator.length - 1;
        if (operator === '$(') outer.push(quote);
        if (operator === '$(') quote = '';
        if (operator === ')') quote = outer.pop() ?? '';
      } else if (quote === '' && /\s/.test(sign)) end();
      else word += sign;
    }
  }
  end();
  return found;
}
