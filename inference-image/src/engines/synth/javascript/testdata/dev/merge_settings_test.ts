import assert from 'node:assert/strict';
import test from 'node:test';
import { mergeSettings } from './merge_settings.ts';

test('keeps what was chosen', () => assert.equal(mergeSettings({ theme: 'dark' })['theme'], 'dark'));
test('completes', () => assert.equal(mergeSettings({})['pageSize'], 20));
test('drops the unknown', () => assert.equal('size' in mergeSettings({ size: 3 }), false));
