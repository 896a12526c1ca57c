import assert from 'node:assert/strict';
import test from 'node:test';
import { fillTemplate } from './fill_template.mjs';

test('one', () => assert.equal(fillTemplate('Hi {name}', { name: 'Ada' }), 'Hi Ada'));
test('twice', () => assert.equal(fillTemplate('{a}-{a}', { a: 1 }), '1-1'));
test('unknown', () => assert.equal(fillTemplate('{b}', { a: 1 }), '{b}'));
