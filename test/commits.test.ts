import { execFileSync } from 'node:child_process'
import t from 'tap'
import { root } from './root.ts'

/**
 * A commit, with the status letter of each changed file, the bytes by which CHANGELOG.md became longer, and the rooms
 * whose ceiling rose.
 */
type Commit = {
  readonly subject: string
  readonly body: string
  readonly files: readonly string[]
  readonly added: number
  readonly raised: readonly string[]
}

const git = (...args: readonly string[]) => String(execFileSync('git', ['-C', root, ...args], { stdio: 'pipe' }))

/** Ceilings of the rooms (`test/sizes.ts`) at a commit; none at a commit without the file. */
const ceilingsAt = (commit: string): ReadonlyMap<string, number> => {
  try {
    const lines = git('show', `${commit}:test/sizes.ts`).matchAll(/^ {2}'?([\w/]+)'?: ([\d_]+),$/gm)
    return new Map([...lines].map(([, room, lines]) => [room!, Number(lines!.replaceAll('_', ''))]))
  } catch {
    return new Map()
  }
}

const commitOf = (id: string): Commit => {
  const [subject = '', ...body] = git('log', '-1', '--format=%B', id).split('\n')
  const files = git('show', '--format=', '--name-status', '--no-renames', id).split('\n').filter(Boolean)
  const sizeAt = (at: string) => Number(git('cat-file', '-s', `${at}:CHANGELOG.md`))
  const added = files.includes('M\tCHANGELOG.md') ? sizeAt(id) - sizeAt(`${id}^`) : 0
  const before = files.includes('M\ttest/sizes.ts') ? ceilingsAt(`${id}^`) : new Map<string, number>()
  const raised = [...ceilingsAt(id)].filter(([room, lines]) => lines > (before.get(room) ?? Infinity))
  return { subject, body: body.join('\n').trim(), files, added, raised: raised.map(([room]) => room) }
}

/** Commits that are not pushed yet: these can still be amended. A shallow clone has none. */
const unpushed = (): readonly Commit[] | undefined => {
  try {
    return git('rev-list', '--no-merges', 'origin/main..HEAD').split('\n').filter(Boolean).map(commitOf)
  } catch {
    return undefined
  }
}

const problemsOf = ({ subject, body, files, added, raised }: Commit): readonly string[] => [
  ...(subject.length > 72 || !/^[\w., /-]+: \S/.test(subject) ? ['subject: docs/style.md, rule 11'] : []),
  ...(body === '' && files.some((file) => /\t(?:ui\/)?src\//.test(file)) ? ['no body: docs/style.md, rule 11'] : []),
  ...(added > 0 && !files.some((file) => file.startsWith('D\tchangelog/'))
    ? ['longer CHANGELOG.md without a release: docs/style.md, rule 14']
    : []),
  ...raised
    .filter((room) => !body.split('\n').some((line) => line.startsWith(`Size: ${room} +`)))
    .map((room) => `higher ceiling of ${room}: CONTRIBUTING.md, "A change"`),
]

await t.test('a commit of code has a body, and only a release adds to the changelog', async (t) => {
  const commit = { subject: 'http: reject a cookie', body: '', files: ['M\tdocs/api.md'], added: 0, raised: [] }
  const release = { ...commit, files: ['M\tCHANGELOG.md', 'D\tchangelog/cookie.md'], added: 90 }
  const larger = { ...commit, raised: ['src/http'], body: 'Two were sent.\n\nSize: src/http +12, for refused cookies' }
  for (const right of [
    commit,
    { ...commit, files: ['M\tsrc/main.ts'], body: 'Two of them were sent.' },
    release,
    larger,
  ])
    t.strictSame(problemsOf(right), [])
  for (const [fault, wrong] of [
    ['subject', { subject: 'Reject a cookie' }],
    ['no body', { files: ['A\tsrc/main.ts'] }],
    ['no body', { files: ['D\tui/src/main.tsx'] }],
    ['higher ceiling of src/http', { raised: ['src/http'], body: 'Two of them were sent.' }],
    ['longer CHANGELOG.md', { files: ['M\tCHANGELOG.md', 'A\tchangelog/cookie.md'], added: 1 }],
  ] as const)
    t.match(problemsOf({ ...commit, ...wrong }), [fault], fault)
})

const commits = unpushed()
await t.test(
  'each commit that is not pushed yet follows the rules for commits',
  { skip: commits === undefined ? 'no git, or no branch origin/main' : false },
  async (t) => {
    for (const commit of commits!) for (const problem of problemsOf(commit)) t.fail(`"${commit.subject}": ${problem}`)
  },
)
