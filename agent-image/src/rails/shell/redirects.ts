import type { Node } from '../syntax/node.ts';
import { concat, dynamic, fixed, isFixed, spaced, type Redirect, type Value } from './command.ts';
import { absolute } from './places.ts';
import { heredocPattern, hereStringMark } from './prepare.ts';
import type { Run, Site } from './run.ts';
import { expandQuoted } from './words.ts';

export function isRedirect(node: Node): boolean {
  return node.type === 'file_redirect' || node.type === 'herestring_redirect' || node.type === 'heredoc_redirect';
}

export interface Opened {
  readonly redirects: readonly Redirect[];
  /** Text on standard input because of them; null when they leave it. */
  readonly stdin: Value | null;
}

export function evaluateRedirects(nodes: readonly Node[], run: Run, site: Site): Opened {
  const redirects: Redirect[] = [];
  let stdin: Value | null = null;
  for (const node of nodes) {
    const here = hereText(node, run, site);
    if (here !== null) stdin = here;
    else if (node.type === 'file_redirect') {
      const operator = node.children.find((one) => !one.named)?.text ?? '>';
      for (const target of targets(node, run, site)) {
        if (operator.endsWith('&') && /^(?:\d+-?|-)$/.test(target.text)) {
          if (operator === '<&' && /^[1-9]/.test(target.text)) stdin = dynamic();
          continue;
        }
        redirects.push({ operator, target });
        if (operator === '<') stdin = fileContent(target, run, site);
      }
    } else stdin = dynamic();
  }
  return { redirects, stdin };
}

function targets(node: Node, run: Run, site: Site): readonly Value[] {
  return node.children.filter((one) => one.field === 'destination' || one.type === 'ERROR').flatMap((one) => run.word(one, site).flat());
}

/** The text of a here-document or here-string; null for other redirects. */
function hereText(node: Node, run: Run, site: Site): Value | null {
  const target = node.children.find((one) => one.field === 'destination');
  if (target === undefined) return null;
  const number = heredocPattern.exec(target.text)?.[1];
  if (number !== undefined) {
    const heredoc = site.frame.prepared.heredocs[Number(number)];
    if (heredoc === undefined) return dynamic();
    return heredoc.quoted ? fixed(heredoc.body) : expandQuoted(heredoc.body, run, site);
  }
  if (!target.text.startsWith(`'${hereStringMark}'`)) return null;
  const fields = run.word(target, site)[0] ?? [];
  const text = fields.map((value, i) => (i === 0 ? { ...value, text: value.text.slice(hereStringMark.length) } : value));
  return concat([spaced(text), fixed('\n')]);
}

/** Returns what the act itself wrote to a file, or a hole. */
export function fileContent(path: Value, run: Run, site: Site): Value {
  const known = run.files.get(absolute(path.text, site.scope.cwd));
  return known ?? dynamic(path.from);
}

/** Notes what is written where; the answer is what is left for the next in the pipe. */
export function write(redirects: readonly Redirect[], output: Value, run: Run, site: Site): Value {
  let left = output;
  for (const { operator, target } of redirects) {
    if (!operator.includes('>')) continue;
    if (isFixed(target)) {
      const path = absolute(target.text, site.scope.cwd);
      const before = operator.includes('>>') ? run.files.get(path) : undefined;
      run.files.set(path, before === undefined ? output : concat([before, output]));
    }
    left = fixed('');
  }
  return left;
}
