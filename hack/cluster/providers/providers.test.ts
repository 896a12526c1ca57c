import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { chooseProvider, createArguments, deleteArguments, kindConfig, loadArguments } from './kind.ts';
import { firstReadyNode, importRefusal, minifyArguments, binOver } from './context.ts';

describe('chooseProvider', () => {
  it('obeys a named context before everything else', () => {
    expect(chooseProvider({ context: 'prod', recorded: 'local', kindWorks: true })).toBe('context');
  });
  it('keeps the provider of a cluster that is up', () => {
    expect(chooseProvider({ context: undefined, recorded: 'local', kindWorks: true })).toBe('local');
  });
  it('takes kind only where it works', () => {
    expect(chooseProvider({ context: undefined, recorded: undefined, kindWorks: true })).toBe('kind');
    expect(chooseProvider({ context: undefined, recorded: undefined, kindWorks: false })).toBe('local');
  });
});

describe('kind', () => {
  it('creates, loads and deletes the same cluster, with our own kubeconfig', () => {
    expect(createArguments('/k')).toEqual(expect.arrayContaining(['--name', 'agentfleet', '--config', '-', '--kubeconfig', '/k']));
    expect(loadArguments('/i.tar')).toEqual(['load', 'image-archive', '/i.tar', '--name', 'agentfleet']);
    expect(deleteArguments('/k')).toEqual(['delete', 'cluster', '--name', 'agentfleet', '--kubeconfig', '/k']);
  });
  it('limits processes as our own node does', () => {
    const config = load(kindConfig()) as { nodes: unknown[]; kubeadmConfigPatches: string[] };
    expect(config.nodes).toHaveLength(1);
    expect(load(config.kubeadmConfigPatches[0] ?? '')).toMatchObject({ kind: 'KubeletConfiguration', podPidsLimit: 1024 });
  });
});

describe('context', () => {
  it('copies one context only', () => expect(minifyArguments('c')).toContain('--minify'));
  it('finds a Ready node, or none', () => {
    expect(firstReadyNode('a\tFalse\nb\tTrue\n')).toBe('b');
    expect(firstReadyNode('a\tUnknown\n')).toBeUndefined();
  });
  it('names the cure when images cannot be loaded', () => {
    expect(importRefusal('c')).toMatchObject({ code: 'AF_IMPORT_UNSUPPORTED', message: expect.stringMatching(/registry/) as unknown });
  });
});

it('names a missing tool', () => {
  expect(() => binOver(new Map(), 'kind')('helm')).toThrow(/AF_BINARY_UNKNOWN.*helm/);
});
