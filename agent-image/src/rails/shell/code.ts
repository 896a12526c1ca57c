import { deedsOf, type Deed } from '../language/program.ts';
import { textDeeds } from '../language/text.ts';
import { concat, dynamic, fixed, type Code, type Value } from './command.ts';
import { hasHole, hole, plain } from './marks.ts';
import { prepare } from './prepare.ts';
import { problem, type Run, type Site } from './run.ts';
import { salvage } from './salvage.ts';

/** Walks a text in its language; the answer is what it prints, as far as that is known. */
export function code(code: Code, site: Site, stdin: Value | null, run: Run): Value {
  const inside = { ...site, frame: { ...site.frame, within: site.frame.within ?? site.span } };
  if (code.language === 'shell') return shellText(code.value, inside, stdin, run);
  const text = plain(code.value.text);
  run.limits.characters -= text.length;
  if (run.limits.characters < 0) {
    problem(run, 'limit', 'there is too much code to judge', site.span);
    return dynamic(code.value.from);
  }
  for (const deed of deeds(code.language, text, inside, run)) perform(deed, code, inside, run);
  return dynamic(code.value.from);
}

function deeds(language: Code['language'], text: string, site: Site, run: Run): readonly Deed[] {
  if (language === 'text' || text === hole) return language === 'text' ? textDeeds(text) : [];
  const parsed = run.grammars.parse(language === 'python' ? 'python' : 'javascript', text.replaceAll(hole, '_'));
  if (parsed === null || parsed.broken) problem(run, 'syntax', `${language} code is not understood`, site.span);
  if (parsed === null) return textDeeds(text);
  return parsed.broken ? [...deedsOf(parsed.root), ...textDeeds(text)] : deedsOf(parsed.root);
}

function perform(deed: Deed, code: Code, site: Site, run: Run): void {
  if (deed.kind === 'unknown') problem(run, 'dynamic', deed.what, site.span);
  else if (deed.kind === 'argv') {
    const argv = deed.argv.map((text) => ({ text: text === '~' || text.startsWith('~/') ? run.home + text.slice(1) : text, from: [] }));
    run.call({ argv, stdin: deed.content === undefined ? null : fixed(deed.content) }, { ...site, scope: site.scope.copy() });
  } else {
    if (site.frame.depth >= run.limits.depth) {
      problem(run, 'limit', 'code is nested too deeply', site.span);
      return;
    }
    const value = { text: deed.text, from: code.value.from };
    const frame = { ...site.frame, depth: site.frame.depth + 1 };
    if (hasHole(deed.text)) problem(run, 'dynamic', 'code runs text that is not a constant', site.span);
    run.code(
      { language: deed.kind === 'shell' ? 'shell' : code.language, value, source: 'argument' },
      { ...site, scope: site.scope.copy(), frame },
      null,
    );
  }
}

/** Walks shell code found in a value. */
export function shellText(value: Value, site: Site, stdin: Value | null, run: Run): Value {
  const text = plain(value.text);
  run.limits.characters -= text.length;
  if (text.trim() === '' || text === hole) return text === hole ? dynamic(value.from) : fixed('');
  if (site.frame.depth > run.limits.depth || run.limits.characters < 0) {
    problem(run, 'limit', 'there is too much code to judge, or it is nested too deeply', site.span);
    return dynamic(value.from);
  }
  const prepared = prepare(text);
  const frame = { ...site.frame, prepared };
  const parsed = run.grammars.parse('bash', prepared.text);
  const inner = { ...site, frame };
  if (parsed === null) {
    problem(run, 'limit', 'the command line is too long or nested too deeply', site.span);
    return dynamic(value.from);
  }
  const output = run.node(parsed.root, inner, stdin);
  if (parsed.broken || prepared.unbalanced) {
    problem(run, 'syntax', 'the command line is not understood in full', site.span);
    salvage(prepared.text, inner, run);
    return dynamic(value.from);
  }
  return concat([output]);
}
