import { Link } from '@tanstack/react-router'
import type { toFlag, toSegment } from '../links.ts'
import { CodeText, Safe } from './feedback/safe.tsx'

/** Table cell of a flag or segment: its name as a link, and its key. */
export const NamedLink = ({
  to,
  name,
  thingKey,
}: {
  readonly to: ReturnType<typeof toFlag | typeof toSegment>
  readonly name: string
  readonly thingKey: string
}) => (
  <>
    <Link {...to}>
      <Safe text={name} />
    </Link>
    <CodeText look="key" text={thingKey} />
  </>
)
