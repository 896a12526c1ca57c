import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

test('a reader that leaves before the end, such as head, ends the program without a word, and not as done', async () => {
  const line = `"${process.execPath}" --disable-warning=ExperimentalWarning "${main}" eval run --help | true; echo "status \${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await execa('bash', ['-c', line], { env: { NODE_OPTIONS: undefined } });
  expect([stdout, stderr]).toEqual(['status 141', '']);
});
