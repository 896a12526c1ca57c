import assert from 'node:assert/strict';
import test from 'node:test';
import { meanWait } from './mean_wait.ts';

test('one', () => assert.equal(meanWait([{ arrived: 3, served: 9 }]), 6));
test('two', () =>
  assert.equal(
    meanWait([
      { arrived: 0, served: 2 },
      { arrived: 0, served: 4 },
    ]),
    3,
  ));
test('nobody', () => assert.equal(meanWait([]), 0));
