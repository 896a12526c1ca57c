import assert from 'node:assert/strict';
import test from 'node:test';
import { quietLog } from './quiet_log.mjs';

const logged = (...calls) => {
  const texts = [];
  const log = quietLog(10, (text) => texts.push(text));
  for (const [text, now] of calls) log(text, now);
  return texts;
};
test('two texts', () => assert.deepEqual(logged(['a', 0], ['b', 1]), ['a', 'b']));
test('again too early', () => assert.deepEqual(logged(['a', 0], ['a', 5]), ['a']));
test('again in time', () => assert.deepEqual(logged(['a', 0], ['a', 6], ['a', 12]), ['a', 'a']));
