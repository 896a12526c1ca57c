import assert from 'node:assert/strict';
import test from 'node:test';
import { RecentFiles } from './recent_files.ts';

const opened = (limit: number, ...paths: string[]) => {
  const recent = new RecentFiles(limit);
  for (const path of paths) recent.open(path);
  return recent.list();
};
test('order', () => assert.deepEqual(opened(5, 'a', 'b'), ['b', 'a']));
test('each once', () => assert.deepEqual(opened(5, 'a', 'b', 'a'), ['a', 'b']));
test('as many as may be', () => assert.deepEqual(opened(2, 'a', 'b', 'c'), ['c', 'b']));
