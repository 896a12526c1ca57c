import { replace, type Operator } from '../operator.ts';

/** The wrong way out of a loop. */
export const loopExit: Operator = {
  name: 'loop-exit',
  prior: 0.7,
  on: ['break_statement', 'continue_statement', 'pass_statement', 'return_statement'],
  *propose(node, file) {
    const holder = node.ancestor('for_statement', 'while_statement', 'function_definition')?.type;
    if (holder === undefined || holder === 'function_definition') return;
    const weight = node.type === 'return_statement' ? 0.3 : 1;
    for (const after of ['break', 'continue']) if (after !== node.text) yield replace(node, after, weight);
    if (node.type === 'return_statement') return;
    const locals = file.names(node).filter((info) => info.local && info.boundAt < node.start && info.kind !== 'callable');
    for (const info of locals) yield replace(node, `return ${info.name}`, 0.15);
    for (const value of ['False', 'True', 'None']) yield replace(node, `return ${value}`, 0.15);
  },
};
