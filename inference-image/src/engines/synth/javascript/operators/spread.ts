import { bracketed, replace, type Operator } from '../operator.ts';
import { calledName } from '../syntax.ts';

/** A list where its elements are meant, or the other way round: `Math.max(...list)`, `all.push(...part)`. */
export const spread: Operator = {
  name: 'spread',
  prior: 0.4,
  on: ['arguments', 'array', 'spread_element', 'object'],
  *propose(node, file) {
    if (node.type === 'spread_element') {
      const [value] = node.namedChildren;
      if (value !== undefined && node.parent?.type !== 'object') yield replace(node, value.text, 0.5);
      return;
    }
    if (node.type === 'object') {
      // Later members win: the order of what is merged.
      const parts = node.namedChildren;
      for (const [at, part] of parts.entries()) {
        const next = parts[at + 1];
        if (next === undefined || (part.type !== 'spread_element' && next.type !== 'spread_element')) continue;
        const rationale = 'let the other member win';
        yield { ...replace(part, next.text, 2, rationale), edits: [...replace(part, next.text).edits, ...replace(next, part.text).edits] };
      }
      return;
    }
    const call = node.type === 'arguments' ? node.parent : null;
    const name = call === null ? '' : (calledName(call)?.text ?? '');
    for (const item of node.namedChildren) {
      if (!/^(identifier|call_expression|member_expression)$/.test(item.type)) continue;
      const kind = file.kind(item);
      if (kind === 'number' || kind === 'string' || kind === 'function' || kind === 'boolean') continue;
      const likely = /^(max|min|push|unshift|concat)$/.test(name) ? 2 : node.type === 'array' ? 0.6 : 0.1;
      yield replace(item, `...${bracketed(item)}`, likely);
    }
  },
};
