/** Oldest supported Node.js, as in `engines` of package.json. */
export const OLDEST_NODE = '20.19'

/** Error message if this version of Node.js is too old. Imports nothing that an old version cannot load. */
export const tooOld = (version: string): string | undefined => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
    ? undefined
    : `Node.js ${OLDEST_NODE} or later is needed; this is ${major}.${minor}.`
}
