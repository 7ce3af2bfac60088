import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

/** Subjects of the commits that are not pushed yet: these can still be amended. */
const unpushed = (): readonly string[] | undefined => {
  try {
    const log = execFileSync('git', ['-C', root, 'log', '--format=%s', 'origin/main..HEAD'], { stdio: 'pipe' })
    return String(log).split('\n').filter(Boolean)
  } catch {
    return undefined
  }
}

const subjects = unpushed()
await t.test(
  'a commit subject begins with an area and has at most 72 characters',
  { skip: subjects === undefined ? 'no git, or no branch origin/main' : false },
  async (t) => {
    for (const subject of subjects!)
      if (subject.length > 72 || !/^[\w., /-]+: \S/.test(subject)) t.fail(`"${subject}": docs/style.md, rule 11`)
  },
)
