import { isRead } from '../names.ts';
import { isValue, replace, type Operator } from '../operator.ts';

const most = 10;

/** A fixed value where a variable is meant, a variable where a number is, a switch that only goes one way. */
export const literalName: Operator = {
  name: 'literal-name',
  prior: 0.3,
  on: ['number', 'true', 'false', 'string', 'identifier'],
  *propose(node, file) {
    if (!isValue(node)) return;
    if (node.type === 'identifier') {
      const numeric = isRead(node) && /^(binary|augmented_assignment)_expression$/.test(node.parent?.type ?? '');
      if (numeric) yield* ['1', '0'].map((after) => replace(node, after, 0.3));
      return;
    }
    const store = node.parent?.type === 'assignment_expression' ? node.parent.child('left') : null;
    if (node.type === 'true' || node.type === 'false') {
      if (store !== null) yield replace(node, `!${store.text}`, 1);
      return;
    }
    const kind = node.type;
    const names = file
      .names(node)
      .filter(
        (info) =>
          (info.kind === kind || info.kind === 'unknown') && info.name !== store?.text && (!info.local || info.boundAt <= node.start),
      );
    const share = kind === 'string' ? 0.5 : 1;
    for (const info of names.slice(0, most))
      yield replace(node, info.name, share * (info.kind === kind ? 1 : 0.5) * (info.local ? 1 : 0.3));
  },
};
