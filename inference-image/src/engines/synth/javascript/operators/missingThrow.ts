import { replace, type Operator } from '../operator.ts';

/** An error that is made and not thrown, returned instead of thrown, or thrown instead of passed over. */
export const missingThrow: Operator = {
  name: 'missing-throw',
  prior: 0.4,
  on: ['expression_statement', 'return_statement', 'throw_statement'],
  *propose(node, file) {
    const [value] = node.namedChildren;
    const isError = value?.type === 'new_expression' && /Error\(/.test(value.text);
    if (node.type === 'throw_statement') {
      for (const after of ['return null', 'return undefined', 'return false']) yield replace(node, `${after}${file.end}`, 0.2);
      return;
    }
    if (isError) yield replace(node, `throw ${value.text}${file.end}`, 4);
  },
};
