const scheme = 'builtin://';

/** Names behind `builtin://` that the inference image has. */
export const knownArtifacts: readonly string[] = ['features-v3', 'features-v2', 'features-v1'];

/** The name in the uri of an artifact; the schema demands the scheme. Pure. */
export function artifactName(uri: string): string {
  return uri.startsWith(scheme) ? uri.slice(scheme.length) : uri;
}

/** Why an artifact cannot be served, and the cure; undefined when it can. Pure. */
export function artifactFault(uri: string): string | undefined {
  if (knownArtifacts.includes(artifactName(uri))) return undefined;
  const known = knownArtifacts.map((name) => scheme + name).join(', ');
  return `there is no artifact ${uri}; set spec.artifact.uri to one of ${known}`;
}
