import { expect, test } from 'vitest';
import { withTable } from './document.ts';

const document = 'a\n<!-- table: one -->\nold\n<!-- end -->\nb\n<!-- table: two -->\n<!-- end -->\n';

test('replaces the table that is named and nothing else', () => {
  const changed = withTable(document, 'one', '| x |');
  expect(changed).toBe(document.replace('\nold\n', '\n\n| x |\n\n'));
  expect(withTable(changed, 'one', '| x |')).toBe(changed);
  expect(withTable(document, 'two', 'y')).toContain('old');
});

test('reports the missing place', () => {
  expect(() => withTable(document, 'three', 'x')).toThrow(/no "<!-- table: three -->"/);
});
