import { ferretdb } from '../adapters/ferretdb.ts'
import { failureOf } from '../stand-ins/built-program.ts'
import { fsck } from '../verifier/fsck.ts'

/**
 * `node dist/test/ci/stand-in.js` builds the stand-in for MongoDB and the verifier `fsck` before the tests, because a
 * first build can exceed the time limit of a test. It fails only without the stand-in.
 */
const LIMIT_MS = 400_000
try {
  await ferretdb(LIMIT_MS)
} catch (error) {
  console.log(`not built: the stand-in for MongoDB: ${failureOf(error)}`)
  process.exitCode = 1
}
try {
  await fsck(LIMIT_MS)
} catch (error) {
  console.log(`not built: fsck of the tessera project: ${failureOf(error)}`)
}
