import { replace, type Operator } from '../operator.ts';
import { functions, loops } from '../syntax.ts';

/** The wrong way out of a loop. */
export const loopExit: Operator = {
  name: 'loop-exit',
  prior: 0.7,
  on: ['break_statement', 'continue_statement', 'return_statement'],
  *propose(node, file) {
    const holder = node.ancestor(...loops, ...functions, 'switch_statement')?.type;
    if (holder === undefined || !/^(for|for_in|while|do)_statement$/.test(holder)) return;
    const weight = node.type === 'return_statement' ? 0.3 : 1;
    for (const after of ['break', 'continue']) if (!node.text.startsWith(after)) yield replace(node, `${after}${file.end}`, weight);
    if (node.type === 'return_statement') return;
    for (const info of file.locals(node)) yield replace(node, `return ${info.name}${file.end}`, 0.15);
    for (const value of ['false', 'true', 'null']) yield replace(node, `return ${value}${file.end}`, 0.15);
  },
};
