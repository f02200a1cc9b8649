import java.sql.*;
import java.util.*;

/** What Java tools do, in one run: `java -cp postgresql.jar Client.java URL PASSWORD`; one line for each thing. */
public class Client {
    static void say(String name, Object value) { System.out.println(name + "=" + value); }

    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) found.add(rows.getString(name));
        return found;
    }

    public static void main(String[] words) throws Exception {
        Properties who = new Properties();
        who.put("user", "ana");
        who.put("password", words[1]);
        try (Connection c = DriverManager.getConnection(words[0], who)) {
            DatabaseMetaData about = c.getMetaData();
            say("product", about.getDatabaseProductName() + " " + about.getDatabaseMajorVersion());
            say("schemas", column(about.getSchemas(), "TABLE_SCHEM"));
            say("tables", column(about.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME"));
            say("columns", column(about.getColumns(null, "public", "patient", "%"), "COLUMN_NAME"));
            say("types", column(about.getColumns(null, "public", "patient", "%"), "TYPE_NAME"));
            say("remarks", column(about.getColumns(null, "public", "patient", "age"), "REMARKS"));
            say("keys", column(about.getPrimaryKeys(null, "public", "patient"), "COLUMN_NAME"));
            say("imported", column(about.getImportedKeys(null, "public", "visit"), "FKCOLUMN_NAME"));
            say("indexes", column(about.getIndexInfo(null, "public", "patient", false, true), "INDEX_NAME"));
            say("privileges", column(about.getTablePrivileges(null, "public", "patient"), "PRIVILEGE").size());
            List<String> known = column(about.getTypeInfo(), "TYPE_NAME");
            say("info", known.containsAll(List.of("int8", "numeric", "text", "date", "bool", "timestamp")));
            say("functions", column(about.getFunctions(null, "public", "%"), "FUNCTION_NAME").size());
            say("catalogs", column(about.getCatalogs(), "TABLE_CAT"));
            say("table types", column(about.getTableTypes(), "TABLE_TYPE").contains("TABLE"));

            try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM patient WHERE age > ? AND disease = ?")) {
                Set<Long> seen = new HashSet<>();
                for (int i = 0; i < 7; i++) {  // from the fifth on it has a name, and answers in binary
                    s.setInt(1, 40);
                    s.setString(2, "Cold");
                    try (ResultSet rows = s.executeQuery()) { rows.next(); seen.add(rows.getLong(1)); }
                }
                say("prepared", seen.size());
                say("parameters", s.getParameterMetaData().getParameterTypeName(1));
            }
            String grouped = "SELECT disease, COUNT(*) AS n, AVG(age) AS age FROM patient GROUP BY disease";
            c.setAutoCommit(false);
            try (PreparedStatement s = c.prepareStatement(grouped)) {
                s.setFetchSize(2);  // a portal that is suspended twice
                List<String> found = new ArrayList<>();
                try (ResultSet rows = s.executeQuery()) {
                    while (rows.next()) found.add(rows.getString(1) + ":" + rows.getLong(2) + ":" + rows.getBigDecimal(3));
                }
                say("fetched", found);
            }
            c.rollback();
            c.setAutoCommit(true);
            try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM patient WHERE admitted >= ? AND salary < ?")) {
                s.setObject(1, java.time.LocalDate.of(2016, 1, 1));
                s.setBigDecimal(2, new java.math.BigDecimal("50000.5"));
                try (ResultSet rows = s.executeQuery()) { rows.next(); say("dated", rows.getLong(1) > 0); }
            }
            try (Statement s = c.createStatement()) {
                s.execute("SET sfumato.epsilon = 0.5");
                SQLWarning warned = null;
                try (ResultSet rows = s.executeQuery("SELECT COUNT(*) FROM patient WHERE age = 41")) { warned = s.getWarnings(); }
                say("notice", warned.getMessage().matches("count \u00b1 [0-9]+ at 95 %; cost: epsilon 0\\.5; .*"));
                try { s.executeQuery("SELECT ssn FROM patient"); } catch (SQLException e) { say("refused", e.getSQLState()); }
                org.postgresql.copy.CopyManager copy = c.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
                java.io.StringWriter out = new java.io.StringWriter();
                say("copied", copy.copyOut("COPY (" + grouped + ") TO STDOUT (FORMAT csv)", out));
            }
        }
    }
}
