import { brief, remove, type Operator } from '../operator.ts';

/** A statement too much. */
export const statementDelete: Operator = {
  name: 'statement-delete',
  prior: 0.3,
  on: ['expression_statement', 'return_statement', 'break_statement', 'continue_statement', 'throw_statement', 'if_statement'],
  *propose(node, file) {
    if (node.namedChildren[0]?.type === 'string') return;
    yield { edits: [remove(file, node)], weight: node.type === 'if_statement' ? 0.5 : 1, rationale: `delete ${brief(node.text)}` };
  },
};
