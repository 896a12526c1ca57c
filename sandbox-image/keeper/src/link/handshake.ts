import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Frame, FrameHeader } from './frame.ts';

const protocolVersion = 1;

/** `mac` of the runner's hello. */
export function runnerMac(key: string, keeperNonce: string, runnerNonce: string, instance: string): string {
  return createHmac('sha256', key).update(`agentfleet-link/1 runner\n${keeperNonce}\n${runnerNonce}\n${instance}`).digest('hex');
}

/** `mac` of the keeper's welcome. */
export function keeperMac(key: string, keeperNonce: string, runnerNonce: string): string {
  return createHmac('sha256', key).update(`agentfleet-link/1 keeper\n${runnerNonce}\n${keeperNonce}`).digest('hex');
}

export function challenge(nonce: string): FrameHeader {
  return { t: 'challenge', v: protocolVersion, nonce };
}

export type HelloCheck = { readonly instance: string; readonly welcome: FrameHeader } | { readonly refused: string };

/** Whether a frame proves that the sender knows the key. Compares in constant time. */
export function checkHello(frame: Frame, key: string, keeperNonce: string): HelloCheck {
  const { t, v, nonce, instance, mac } = frame.header;
  if (t !== 'hello' || v !== protocolVersion) return { refused: 'the first frame is not a hello of version 1' };
  if (typeof nonce !== 'string' || Buffer.from(nonce, 'base64').length < 16) return { refused: 'the nonce is too short' };
  if (typeof instance !== 'string' || !/^[0-9a-f]{32}$/.test(instance)) return { refused: 'the instance is not 32 hexadecimal digits' };
  if (typeof mac !== 'string' || !/^[0-9a-f]{64}$/.test(mac)) return { refused: 'the mac is not 64 hexadecimal digits' };
  const expected = runnerMac(key, keeperNonce, nonce, instance);
  if (!timingSafeEqual(Buffer.from(mac, 'hex'), Buffer.from(expected, 'hex'))) return { refused: 'the mac is wrong' };
  return { instance, welcome: { t: 'welcome', mac: keeperMac(key, keeperNonce, nonce) } };
}
