import { expect, test } from 'vitest';
import { SourceLines } from './lines.ts';

const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });
const fn = (...ranges: ReturnType<typeof range>[]) => ({ functionName: 'f', ranges, isBlockCoverage: true });

test('inner ranges win; brackets, blanks and comments are no lines', () => {
  const text = 'f(() => {\n  // why\n  if (x) {\n    a();\n  }\n\n  b();\n});\n';
  const lines = new SourceLines(text);
  const inner = text.indexOf('{\n    a');
  expect(lines.covered([fn(range(0, text.length, 1))])).toEqual([1, 3, 4, 7]);
  expect(lines.covered([fn(range(0, text.length, 1), range(inner, text.indexOf('}\n\n') + 1, 0))])).toEqual([1, 3, 7]);
  expect(lines.covered([fn(range(0, text.length, 0)), fn(range(inner, inner + 10, 2))])).toEqual([4]);
  expect(lines.covered([])).toEqual([]);
});

test('the end of a statement does not make its line executed', () => {
  const text = 'const f = () =>\n  x + 1;\n';
  const lines = new SourceLines(text);
  expect(lines.covered([fn(range(0, text.length, 1)), fn(range(10, text.indexOf(';'), 0))])).toEqual([1]);
});

test('ranges past the end of the text are cut', () => {
  expect(new SourceLines('a\nb').covered([fn(range(0, 99, 1))])).toEqual([1, 2]);
});
