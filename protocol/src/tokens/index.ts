/** Kubernetes ServiceAccount tokens between the parts: who carries which, and how a server checks one offline. */
export { loopback, isLoopback, parseSubjects, readAccess, type AccessConfig } from './access.ts';
export { bearerFromFile, type Bearer } from './bearer.ts';
export { ChangingFile } from './changingFile.ts';
export { checkToken, TokenRefused, type RefusalReason, type TokenRules, type WallClock } from './check.ts';
export { gateOf, openGate, tokenGate, type AccessKind, type Gate, type GateOptions } from './gate.ts';
export { jwksInMemory, JwksFile } from './keys.ts';
export * from './names.ts';
