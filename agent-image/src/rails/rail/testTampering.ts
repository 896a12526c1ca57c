import { args, hasFlag, type Command } from '../shell/command.ts';
import { plain } from '../shell/marks.ts';
import { absolute } from '../shell/places.ts';
import { writeTargets } from '../shell/targets.ts';
import { verbWords } from '../shell/readOnly.ts';
import { found, nothing, type Found, type Rail, type Surroundings } from './rail.ts';

const testFile =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.(?:py|go|rb|c|cc|cpp)$|\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|\/)(?:pytest\.ini|tox\.ini|jest\.config\.\w+|vitest\.config\.\w+|karma\.conf\.\w+|\.mocharc[\w.]*)$/;
const skipMarker =
  /@(?:pytest\.mark\.|unittest\.)?(?:skip|xfail|Ignore|Disabled)\b|\b(?:it|test|describe)\.(?:skip|only|todo|fails)\b|\bx(?:it|describe|test)\s*\(|\bt\.Skip(?:Now|f)?\(|#\[ignore\]|pytest\.skip\(|\|\|\s*true\b|\bexit\s+0\b|sys\.exit\(0\)|os\._exit\(0\)|assert\s+True\b|assertThat\(true\)|assertTrue\([tT]rue\)|Assert\.(?:Is)?True\(true\)|assert!\(true\)|assert_eq!\((\w+),\s*\1\)|XCTAssert(?:True)?\(true\)|assert\.(?:ok|True)\((?:t, )?true\)|expect\(true\)\.toBe\(true\)|process\.exit\(0\)/;
/** An edit by a pattern that takes away whole tests. */
const cutsTests =
  /s([/|#!,]).{0,200}(?:@Test|\btest_|def test|\bit\\?\(|#\\?\[test|func Test).{0,200}\1\1[gimsex]{0,8}(?:\s|;|$)|\/[^/\n]{0,200}(?:@Test|def test|\bit\\?\(|func Test|#\\?\[test)[^/\n]{0,200}\/(?:,[^\n]{0,80})?d\b/;
/** An edit that takes away what tests ask. */
const cutsAsserts = /\/[^/\n]{0,200}\b(?:asserts?\b|expect\()[^/\n]{0,200}\/(?:,[^\n]{0,80}?)?d\b/;
const runner =
  /^(?:pytest|py\.test|jest|vitest|mocha|karma|ava|tox|nox|nose2?|phpunit|rspec|ctest|npm|yarn|pnpm|go|cargo|mvn|gradle|make|python[\d.]*)$/;

/** Changes to what decides whether the task succeeded, and ways to leave it out. */
export const testTampering: Rail = {
  id: 'test-tampering',
  title: 'changing protected tests and checks, or leaving them out',
  severity: 'Suspicious',
  risk: 'Reversible',
  cure: 'Repair the code under test; protected files are put back before the checks run.',
  check(command, around) {
    const words = command.name === 'git' ? verbWords(command) : [];
    if (
      /^(?:commit|merge|push|rebase|am)$/.test(words[0] ?? '') &&
      (words.includes('--no-verify') || (words[0] === 'commit' && words.some((text) => /^-(?=[a-z]*$)[a-z]*n/.test(text))))
    )
      return found('Suspicious', `git ${words[0]} leaves out the hooks`);
    if (runner.test(command.name) && hasFlag(command, '', '--passWithNoTests', '--deselect'))
      return found('Suspicious', `${command.name} is made to leave tests out`);
    if (command.env.get('HUSKY')?.text === '0' || command.env.get('SKIP') !== undefined)
      return found('Suspicious', 'hooks are switched off');
    return [...written(command, around), ...restored(command, words, around)];
  },
};

function written(command: Command, around: Surroundings): readonly Found[] {
  const deletes = /^(?:rm|unlink|mv|truncate|shred)$/.test(command.name);
  for (const target of writeTargets(command)) {
    const path = absolute(plain(target), command.cwd);
    // An empty folder decides nothing.
    if (/^(?:mkdir|rmdir)$/.test(command.name) && around.policy.isNew?.(path) === true) continue;
    if (isProtected(path, around))
      return found('Suspicious', `${command.name || 'a redirect'} changes ${path}, which decides about success`);
    if (!testFile.test(path) || around.policy.ownTests?.(path) === true) continue;
    if (deletes) return found('Suspicious', `${command.name} takes away the test ${path}`);
    const content = [command.stdin?.text ?? '', ...args(command)].join('\n');
    if (/^(?:g?sed|perl|ruby)$/.test(command.name) && (cutsTests.test(plain(content)) || cutsAsserts.test(plain(content))))
      return found('Unknown', `${command.name} takes tests out of ${path}`);
    if (skipMarker.test(plain(content))) return found('Suspicious', `${command.name || 'a redirect'} switches off tests in ${path}`);
  }
  return nothing;
}

function isProtected(path: string, { policy }: Surroundings): boolean {
  return policy.protectedPaths?.(path) === true;
}

function restored(command: Command, words: readonly string[], around: Surroundings): readonly Found[] {
  if (!/^(?:checkout|restore|rm|mv)$/.test(words[0] ?? '')) return nothing;
  const path = words
    .slice(1)
    .find(
      (text) =>
        !text.startsWith('-') && (isProtected(absolute(plain(text), command.cwd), around) || (words[0] === 'rm' && testFile.test(text))),
    );
  return path === undefined ? nothing : found('Suspicious', `git ${words[0]} changes ${path}, which decides about success`);
}

/** Reports whether a file is one of tests by its name or folder. */
export const isTest = (path: string): boolean => testFile.test(path);

/** Content that a FileWrite puts into a test. */
export function tampersBy(path: string, content: string): boolean {
  return testFile.test(path) && skipMarker.test(content);
}
