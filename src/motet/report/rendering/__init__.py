"""Parts that every report uses: folders, number formats, colours, tables, text plots."""
