/** Who owns what no team owns. */
export const INSTALLATION = 'Installation'

export const ownerWords = (team: string | null) => team ?? INSTALLATION

/** The team of pipelines that name none. */
export const DEFAULT_TEAM = 'default'
