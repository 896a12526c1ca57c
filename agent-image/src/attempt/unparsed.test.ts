import { expect, test } from 'vitest';
import { unparsed } from './baseline.ts';

const typescript = `node:internal/modules/run_main:107
    triggerUncaughtException(
    ^

file:///workspace/src/clamp.test.ts:4
test('cut', () => {

SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expected ',', got '<eof>'
    at parseTypeScript (node:internal/modules/typescript:72:36)
`;
const module = `file:///workspace/b.js:2



SyntaxError: Unexpected end of input
    at compileSourceTextModule (node:internal/modules/esm/utils:319:16)
`;
const common = `/workspace/d.test.js:1
describe('x'
         ^^^

SyntaxError: missing ) after argument list
    at wrapSafe (node:internal/modules/cjs/loader:1762:18)
`;
const tap = `# file:///workspace/clamp.test.ts:4
# test('cut', () => {
# SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expected ',', got '<eof>'
#     at parseTypeScript (node:internal/modules/typescript:72:36)
`;
const unittest = `  File "/workspace/test_x.py", line 3
    class T(unittest.TestCase:
                             ^
SyntaxError: invalid syntax
`;
const pytest = `E     File "/workspace/test_x.py", line 3
E       class T(unittest.TestCase:
E                                ^
E   SyntaxError: invalid syntax
`;

test.each([
  ['TypeScript', typescript, '/workspace/src/clamp.test.ts', 4],
  ['a module', module, '/workspace/b.js', 2],
  ['a CommonJS file', common, '/workspace/d.test.js', 1],
  ['a file in TAP', tap, '/workspace/clamp.test.ts', 4],
  ['unittest', unittest, '/workspace/test_x.py', 3],
  ['pytest', pytest, '/workspace/test_x.py', 3],
])('what a parser refuses is found: %s', (_, output, path, line) => {
  expect(unparsed(`before\n${output}after\n`)).toMatchObject([{ path, line, why: expect.stringContaining('SyntaxError') as string }]);
});

test.each([
  ['a missing export, which another file may mend', `file:///workspace/n.test.js:1\nimport { nope } from './ok.js';\n         ^^^^\nSyntaxError: The requested module './ok.js' does not provide an export named 'nope'\n    at #asyncInstantiate (node:internal/modules/esm/module_job:455:21)\n`],
  ['a pattern that is made while it runs', `file:///workspace/a.js:1\nnew RegExp('[');\n^\n\nSyntaxError: Invalid regular expression: /[/: Unterminated character class\n    at new RegExp (<anonymous>)\n`],
  ['another error', '  File "/workspace/a.py", line 3, in f\n    x()\nNameError: x\n'],
])('it is not %s', (_, output) => {
  expect(unparsed(output)).toEqual([]);
}); // prettier-ignore

test('it takes linear time', () => {
  expect(unparsed('/a:1\n'.repeat(200_000))).toEqual([]);
});
