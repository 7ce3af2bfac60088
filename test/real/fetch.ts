import { installed, languages } from './client-packages.ts'
import { fetched, missing, programs, versionOf } from './programs.ts'

/**
 * `node dist/test/real/fetch.js` puts the programs of the suite `real` into the cache. `--cached` fetches nothing,
 * lists missing ones and fails if there are any. `--versions` lists the versions.
 */
if (process.argv.includes('--versions')) {
  console.log(programs.map((program) => `${program} ${versionOf(program)}`).join(', '))
} else if (process.argv.includes('--cached')) {
  const skip = missing(...programs)
  if (skip !== false) console.log(skip)
  process.exitCode = skip === false ? 0 : 1
} else {
  for (const language of languages) {
    const { path, skip } = await installed(language)
    console.log(skip === false ? `client packages for ${language}: ${path}` : skip)
  }
  for (const program of programs) {
    const { path, skip } = await fetched(program)
    console.log(skip === false ? `${program}: ${path}` : skip)
  }
}
