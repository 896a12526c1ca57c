import { replace, type Operator } from '../operator.ts';

const most = 12;

/** A number or text for another one that the file uses elsewhere. */
export const fileLiteral: Operator = {
  name: 'file-literal',
  prior: 0.35,
  on: ['number', 'string'],
  *propose(node, file) {
    if (/^(expression|import|export)_statement$/.test(node.parent?.type ?? '')) return;
    const others = [...file.texts(node.type)].filter(([text]) => text !== node.text && text.length < 40);
    for (const [text, count] of others.slice(0, most)) yield replace(node, text, Math.min(1, 0.4 + 0.3 * count));
  },
};
