import type { InferenceInfo } from '@agentfleet/protocol/inference';
import type { BuiltinConfig } from '../../base/config.ts';
import { codeDigest, type Abilities, type ServedEngine } from '../../base/served.ts';

/** Differences between the roles of the engine Builtin. */
export interface BuiltinParts {
  /** Folder of its code, from `engines` on. */
  readonly folder: string;
  /** `sha256:` of its artifact. */
  readonly digest: string;
  /** Settings that change answers, as text. */
  readonly settings: string;
  readonly learned: boolean;
  readonly shadow?: string | null;
  readonly about: InferenceInfo['about'];
  readonly calibration?: InferenceInfo['calibration'];
  readonly abilities: Abilities;
  readonly close?: () => void;
}

/** A role of the engine Builtin, as a server serves it. */
export async function builtin({ role, artifact }: BuiltinConfig, parts: BuiltinParts): Promise<ServedEngine> {
  const { folder, digest, settings, learned, shadow = null, about, calibration, abilities, close } = parts;
  return {
    name: 'Builtin',
    roles: [role],
    modelDigest: await codeDigest(folder, [], `${digest}\n${settings}`),
    learned,
    languages: [],
    shadow,
    about: { ...about, artifact: `builtin://${artifact}`, artifactDigest: digest },
    ...(calibration !== undefined && { calibration }),
    abilities,
    close: () => Promise.resolve(close?.()),
  };
}
