import assert from 'node:assert/strict';
import test from 'node:test';
import { EventBus } from './event_bus.mjs';

test('calls all', () => {
  const [bus, calls] = [new EventBus(), []];
  bus.on((event) => calls.push(`a${event}`));
  bus.on((event) => calls.push(`b${event}`));
  bus.emit(1);
  assert.deepEqual(calls, ['a1', 'b1']);
});
test('once', () => {
  const [bus, calls] = [new EventBus(), []];
  const off = bus.on(() => {
    calls.push('a');
    off();
  });
  bus.on(() => calls.push('b'));
  bus.emit(1);
  bus.emit(2);
  assert.deepEqual(calls, ['a', 'b', 'b']);
});
