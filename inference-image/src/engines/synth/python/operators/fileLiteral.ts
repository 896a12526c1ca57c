import { replace, type Operator } from '../operator.ts';

const most = 12;

/** A number or text for another one that the file uses elsewhere. */
export const fileLiteral: Operator = {
  name: 'file-literal',
  prior: 0.35,
  on: ['integer', 'float', 'string'],
  *propose(node, file) {
    if (node.parent?.type === 'expression_statement') return;
    const numbers = new Map([...file.texts('integer'), ...file.texts('float')]);
    const texts = node.type === 'string' ? file.texts('string') : numbers;
    const others = [...texts].filter(([text]) => text !== node.text && !/^("""|''')/.test(text) && text.length < 40);
    for (const [text, count] of others.slice(0, most)) yield replace(node, text, Math.min(1, 0.4 + 0.3 * count));
  },
};
