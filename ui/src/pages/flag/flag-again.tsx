import { getRouteApi } from '@tanstack/react-router'
import { flagCreation, readFlag } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { MakeAgain } from '../../parts/editing/make-again.tsx'
import { flag } from '../../words/flag.ts'
import { flags } from '../../words/flags.ts'
import { restore } from '../../words/restore.ts'

const here = getRouteApi('/inside/ns/$ns/flags/$key')

/** Page that creates a deleted flag again, switched off, before its state at a moment is restored. */
export const FlagAgain = ({ moment }: { readonly moment: string }) => {
  const { ns, key } = here.useParams()
  return (
    <MakeAgain
      words={{ thing: flag.thing, notFound: flag.notFound, section: flags.heading }}
      namespace={ns}
      name={key}
      moment={moment}
      queryKey={keys.flag(ns, key)}
      read={(then, signal) => readFlag(ns, key, then, signal)}
      creation={({ flag: { name, description, type } }, reason) =>
        flagCreation(ns, { key, name, description, type, enabled: false }, reason)
      }
      first={restore.again.off}
    />
  )
}
