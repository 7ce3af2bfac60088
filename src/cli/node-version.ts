/** The oldest Node.js that the service runs on: `engines` of package.json. */
export const OLDEST_NODE = '20.19'

/** What to tell on a Node.js of this version when it is too old. Loads nothing that an old one cannot. */
export const tooOld = (version: string): string | undefined => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
    ? undefined
    : `Node.js ${OLDEST_NODE} or later is needed; this is ${major}.${minor}.`
}
