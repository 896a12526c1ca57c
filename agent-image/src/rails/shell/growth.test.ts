import { expect, test } from 'vitest';
import { shell, testPolicy, testRails } from '../testing/table.ts';
import type { Act } from '../verdict/types.ts';

const rails = await testRails();
const doubled = `x=aaaaaaaaaa;${'x=$x$x;'.repeat(13)} `;
const python = (text: string): Act => ({ tool: 'ExecCode', argv: ['python3', '-c', `${text}\nimport os\nos.system(x)`] });

// A few words that become very many, or take very long: no judgement may keep the worker busy, fill its memory or throw.
test.each<[string, Act]>([
  ['a pattern with many stars', shell(`x=${'a'.repeat(20_000)}; echo \${x##${'*a'.repeat(12)}*b}`)],
  ['such a pattern at the end', shell(`x=${'a'.repeat(2000)}; echo \${x%%${'*a'.repeat(30)}*b}`)],
  ['the name of a secret by many stars', shell(`cat .${'*[a-z]'.repeat(18)}X`)],
  ['a name of a program by very many stars', shell(`${'*?'.repeat(12_000)}b`)],
  ['a command of Perl without end', { tool: 'ExecCode', argv: ['perl', '-e', 'qx('.repeat(20_000)] }],
  ['calls of Perl without end', { tool: 'ExecCode', argv: ['perl', '-e', 'open '.repeat(12_000)] }],
  ['a list that doubles', shell(`a=(x x);${'a=("${a[@]}" "${a[@]}");'.repeat(26)} echo`)],
  ['a long list in many places', shell(`a=(${'x '.repeat(5000)}); echo ${'"${a[@]}" '.repeat(1500)}`)],
  ['a text that doubles', shell(`${doubled.repeat(3)} echo $x`)],
  ['a long text in many commands', shell(`${doubled}${'echo "$x"|tr 0-z \\\\0-x;'.repeat(400)}`)],
  [
    'a long text in many places of another',
    shell(`${doubled}echo \${x//a/${'b'.repeat(10_000)}}; echo $x | xargs -I a echo ${'a'.repeat(9000)}`),
  ],
  ['a file many times', shell(`${doubled}echo "$x" > f; cat ${'f '.repeat(10_000)}`)],
  ['a pipe that makes its text longer', shell(`${doubled}echo "$x" ${'| base64 '.repeat(60)}`)],
  ['a long word in loops', shell(`${'for i in a b; do x=1; '.repeat(30)}echo ${'$x"a"'.repeat(3000)}${'; done'.repeat(30)}`)],
  ['many names of many lines', shell(`read ${'a '.repeat(5000)} <<E\n${'a\n'.repeat(10_000)}E\n`)],
  ['a text of Python that doubles', python(`x='aaaaaaaaaa'\n${'x=x+x\n'.repeat(60)}`)],
  ['a list of Python that doubles', python(`x=['a']\n${'x=x+x\n'.repeat(40)}`)],
  [
    'loops of Python within loops',
    python(
      `${Array.from({ length: 30 }, (_, n) => `${' '.repeat(n)}for x in (1, 2, 3, 4, 5, 6, 7, 8):`).join('\n')}\n${' '.repeat(30)}f(x)`,
    ),
  ],
  ['a loop of Python over very many', python(`for x in (${"'a','b',".repeat(3000)}): os.system(x)`)],
  ['a table of Python with very many keys', python(`d = {${"'a':1,".repeat(8000)}}\nfor x in d: d.get(x)`)],
  ['a text of Python in each place of itself', python(`x='${'a'.repeat(5000)}'\n${"x=x.replace('a',x)\n".repeat(3)}`)],
  ['a text of Python between its letters', python(`x='${'a'.repeat(30_000)}'\nx=x.join(x.split(''))`)],
  ['a text of Python with itself in many places', python(`x='${'a'.repeat(30_000)}'\nx=f"${'{x}'.repeat(10_000)}"`)],
])('%s ends soon in a verdict', (_, act) => {
  expect(rails.judge(act, testPolicy).decision).toMatch(/^(?:Allow|Review|NeedsApproval|Deny)$/);
});

test.each([
  ['${x#*/}', 'b/c'],
  ['${x##*/}', 'c'],
  ['${x%/*}', 'a/b'],
  ['${x%%/*}', 'a'],
  ['${x#[!a]}', 'a/b/c'],
  ['${x%?}', 'a/b/'],
  ['${x%%[a-c]*[!/]}', ''],
  ['${x%c*d}', 'a/b/c'],
])('%s of a/b/c is "%s"', (expansion, text) => {
  const { simpleCommands } = rails.judge(shell(`x=a/b/c; echo "${expansion}"`), testPolicy);
  expect(simpleCommands.map(({ argv }) => argv.join(' '))).toEqual([`echo ${text}`]);
});
