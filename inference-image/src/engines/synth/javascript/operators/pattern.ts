import { replace, type Operator, type Proposal } from '../operator.ts';

/** A regular expression that finds too little or too much: its flags, its ends, its repeats. */
export const pattern: Operator = {
  name: 'pattern',
  prior: 0.6,
  on: ['regex'],
  *propose(node) {
    const close = node.text.lastIndexOf('/');
    const [body, flags] = [node.text.slice(1, close), node.text.slice(close + 1)];
    const made = (text: string, letters: string, weight: number): Proposal => replace(node, `/${text}/${letters}`, weight);
    yield flags.includes('g') ? made(body, flags.replace('g', ''), 0.5) : made(body, `g${flags}`, 1.5);
    yield flags.includes('i') ? made(body, flags.replace('i', ''), 0.3) : made(body, `${flags}i`, 0.8);
    if (!flags.includes('m') && /[$^]/.test(body)) yield made(body, `${flags}m`, 0.2);
    if (!body.startsWith('^')) yield made(`^${body}`, flags, 0.5);
    if (!body.endsWith('$')) yield made(`${body}$`, flags, 0.5);
    if (!body.startsWith('^') && !body.endsWith('$')) yield made(`^${body}$`, flags, 0.6);
    for (const { 0: part, index } of body.matchAll(/(?:\\[dwsDWS]|\])(?![*+?{])/g)) {
      const at = index + part.length;
      yield made(`${body.slice(0, at)}+${body.slice(at)}`, flags, 1);
      yield made(`${body.slice(0, at)}*${body.slice(at)}`, flags, 0.3);
    }
    for (const { index } of body.matchAll(/(?<!\\)[*+](?!\?)/g)) {
      yield made(`${body.slice(0, index + 1)}?${body.slice(index + 1)}`, flags, 0.5);
      yield made(`${body.slice(0, index)}${body[index] === '*' ? '+' : '*'}${body.slice(index + 1)}`, flags, 0.5);
    }
    for (const { index } of body.matchAll(/(?<!\\)\.(?![*+?{])/g)) yield made(`${body.slice(0, index)}\\${body.slice(index)}`, flags, 0.6);
  },
};
