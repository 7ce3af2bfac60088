import { Link } from '@tanstack/react-router'
import { states } from '../words/common.ts'
import { PageHead } from './page.tsx'
import { Safe } from './safe.tsx'

/** A thing of a namespace that is not there, at the moment that the page shows. */
export const NotThere = ({
  thing,
  heading,
  name,
  namespace,
}: {
  readonly thing: string
  /** The thing as a heading begins with it. */
  readonly heading: string
  readonly name: string
  readonly namespace: string
}) => (
  <>
    <PageHead heading={states.notFound(heading)} title={[states.notFound(heading), namespace]} />
    <p>
      <Safe text={states.notThere(thing, name, namespace)} />
    </p>
    <p>
      <Link to="/ns/$ns/flags" params={{ ns: namespace }}>
        {states.goToFlags}
      </Link>
    </p>
  </>
)
